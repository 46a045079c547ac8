import type { AgentEvent, Entry, LedgerRef, Usage, Writer } from '#lib/ledger';
import { oneLine, plural, usd, whole } from '../format.js';

const MAX_TEXT = 160;

/** What an entry says, in one line: every number of it, and of longer texts the beginning. */
export function describeEntry(entry: Entry): string {
  switch (entry.type) {
    case 'writer_changed':
      return `displaces ${writer(entry.body.displaced)}: ${text(entry.body.reason)}`;
    case 'eval_started': {
      const { plan, software } = entry.body;
      const { repeats, replicates, seed, concurrency, starting_lessons, max_cost_nano_usd, deadline } = plan;
      const budget = max_cost_nano_usd === null ? '' : `, at most ${usd(max_cost_nano_usd)}`;
      const contracts = plan.contracts.map(({ digest }) => digest.slice(0, 12)).join(', ');
      return (
        `contract ${contracts}, ${plural(repeats, 'repeat')} x ${plural(replicates, 'replicate')} x ${plan.arms.map(({ name }) => name).join('/')}, ` +
        `seed ${seed}, concurrency ${concurrency}, ${plural(starting_lessons.length, 'starting lesson')}${budget}, until ${deadline}, truss ${software.truss}`
      );
    }
    case 'child_requested': {
      const { child_run_id, seed, lessons } = entry.body;
      const of = entry.body.case === null ? '' : ` case ${text(entry.body.case)}`;
      return `${child_run_id}${of} seed ${seed}, offered ${lessons.length === 0 ? 'no lesson' : list(lessons)}`;
    }
    case 'child_anchor': {
      const { child_run_id, verdict, entries, usage: spent, verdict_ref, root_hash, superseded } = entry.body;
      const off = superseded.count === 0 ? '' : `, superseded ${superseded.count} (${usage(superseded.usage)})`;
      return `${child_run_id} ${verdict}, ${plural(entries, 'entry', 'entries')}, ${usage(spent)}, verdict ${short(verdict_ref)}, root ${root_hash.slice(0, 12)}${off}`;
    }
    case 'eval_closed':
      return `${entry.body.outcome}, ${plural(entry.body.anchors, 'anchor')}: ${text(entry.body.reason)}`;
    case 'eval_report':
      return `verdict ${typeof entry.body['verdict'] === 'string' ? entry.body['verdict'] : '?'}`;
    case 'run_started':
      return `contract ${entry.body.contract_digest.slice(0, 12)}, request ${short(entry.body.request)}`;
    case 'lessons_recalled': {
      const { used, refused } = entry.body;
      const tokens = used.reduce((sum, lesson) => sum + lesson.tokens, 0);
      const kept =
        used.length === 0 ? 'used none' : `used ${list(used.map(({ lesson }) => lesson))} (${plural(tokens, 'token')})`;
      const left = refused.map(({ lesson, code, reason }) => `; refused ${short(lesson)}: ${code}, ${text(reason)}`);
      return `${kept}${left.join('')}`;
    }
    case 'agent_reported':
      return entry.body.events.map(event).join('; ');
    case 'budget_exhausted':
      return `${entry.body.limit}: ${amount(entry.body.limit, entry.body.spent)} of ${amount(entry.body.limit, entry.body.max)}`;
    case 'infrastructure_failed':
      return `${entry.body.where}, ${entry.body.code}: ${text(entry.body.message)}`;
    case 'workspace_changed': {
      const { files, protected: guarded } = entry.body;
      const undone =
        guarded.length === 0
          ? ''
          : `; undone in protected files: ${guarded.map(({ path, change }) => `${change} ${text(path)}`).join(', ')}`;
      return `${files.map(({ path, change }) => `${change} ${text(path)}`).join(', ') || 'nothing'}${undone}`;
    }
    case 'answer_submitted': {
      const { ended, exit_code, signal, usage: spent } = entry.body;
      const how = signal !== null ? `${ended} by ${signal}` : exit_code !== null ? `${ended} with ${exit_code}` : ended;
      return `${how}, ${usage(spent)}`;
    }
    case 'criterion_checked':
      return `${text(entry.body.criterion)} ${entry.body.result}: ${text(entry.body.reason)}${spent(entry.body.usage)}`;
    case 'review_delegated':
      return `${text(entry.body.criterion)} to ${text(entry.body.reviewer)}`;
    case 'review_returned':
      return `${text(entry.body.criterion)} by ${text(entry.body.reviewer)}: ${entry.body.vote}, ${text(entry.body.reason)}${spent(entry.body.usage)}`;
    case 'verdict':
      return `${entry.body.verdict}: ${text(entry.body.reason)}, from ${list(entry.body.criteria)}`;
    case 'lesson_extracted': {
      const { lesson } = entry.body;
      return `"${text(lesson.title)}" when ${text(lesson.when)}: ${text(lesson.text)} (${plural(lesson.tokens, 'token')}, trust ${lesson.trust})`;
    }
    case 'lesson_checked':
      return `${short(entry.body.lesson)} ${entry.body.gate}/${entry.body.check} ${entry.body.passed ? 'passed' : 'failed'}: ${text(entry.body.reason)}`;
    case 'lesson_reviewed':
      return `${short(entry.body.lesson)} by ${text(entry.body.reviewer)}: ${entry.body.vote}, ${text(entry.body.reason)}${spent(entry.body.usage)}`;
    case 'lesson_promoted':
      return `${short(entry.body.lesson)} through ${entry.body.gates.join(', ')}, quorum ${entry.body.quorum}, votes ${list(entry.body.votes)}`;
    case 'lesson_rejected':
      return `${short(entry.body.lesson)} at ${entry.body.gate}: ${text(entry.body.reason)}`;
    case 'run_sealed': {
      const { entries, usage: total, verdict, interrupted } = entry.body;
      return `${verdict}, ${plural(entries, 'entry', 'entries')}, ${usage(total)}${spent(interrupted, ', interrupted ')}`;
    }
    case 'model_call_started': {
      const { call, purpose, subject, reviewer, provider, model, max_output_tokens, worst_case_nano_usd } = entry.body;
      const about = subject === null ? '' : ` about ${text(subject)}`;
      const most = worst_case_nano_usd === null ? '' : `, ${usd(worst_case_nano_usd)}`;
      const by = reviewer === null ? purpose : `${purpose} by ${text(reviewer)}`;
      return `call ${call}, ${by}${about}, to ${text(provider)} (${text(model)}), at most ${max_output_tokens ?? 'unknown'} output tokens${most}`;
    }
    case 'model_call_completed': {
      const { call, outcome, code, reason, tool_calls, finish, retries } = entry.body;
      const how = outcome === 'failed' ? `failed, ${code ?? ''}` : `${finish}, ${plural(tool_calls, 'tool call')}`;
      const why = reason === '' ? '' : `: ${text(reason)}`;
      return `call ${call} ${how}${retries === 0 ? '' : `, ${plural(retries, 'retry', 'retries')}`}${spent(entry.body.usage)}${why}`;
    }
    case 'tool_called': {
      const { call, index, tool, ok, arguments: given, result } = entry.body;
      const of = 'text' in given ? text(given.text) : `${whole(given.size)} bytes`;
      const got = 'text' in result ? text(result.text) : `${whole(result.size)} bytes`;
      return `call ${call}.${index} ${text(tool)} ${of} ${ok ? 'gave' : 'failed'}: ${got}`;
    }
    default:
      return entry satisfies never;
  }
}

function text(value: string): string {
  return oneLine(value, MAX_TEXT);
}

/** A ref without its evaluation: the run's part, the seq, and the hash's beginning. */
function short(ref: LedgerRef): string {
  const [ledger = '', rest = ''] = ref.split('#');
  const [seq = '', hash = ''] = rest.split('@');
  const run = ledger.split('.').slice(1).join('.');
  return `${run}#${seq}@${hash.slice(0, 8)}`;
}

function list(refs: readonly LedgerRef[]): string {
  return refs.length === 0 ? 'none' : refs.map(short).join(' ');
}

function writer({ key, session }: Writer): string {
  return `${key.slice(0, 8)}/${session.slice(0, 8)}`;
}

function usage({
  cost_nano_usd,
  steps,
  input_tokens,
  output_tokens,
  unmeasured_calls,
  unpriced_calls = 0,
}: Usage): string {
  const cost = cost_nano_usd === null ? 'cost unknown' : `cost ${usd(cost_nano_usd)}`;
  const count = (tokens: number | null) => (tokens === null ? 'unknown' : whole(tokens));
  const unmeasured = unmeasured_calls === 0 ? '' : `, ${plural(unmeasured_calls, 'call')} unmeasured`;
  const unpriced = unpriced_calls === 0 ? '' : `, ${plural(unpriced_calls, 'call')} without a price`;
  return `${plural(steps, 'step')}, ${count(input_tokens)} + ${count(output_tokens)} tokens, ${cost}${unpriced}${unmeasured}`;
}

function spent(of: Usage, before = ', '): string {
  const { cost_nano_usd, steps, input_tokens, output_tokens, unmeasured_calls } = of;
  const nothing =
    cost_nano_usd === 0 && steps === 0 && input_tokens === 0 && output_tokens === 0 && unmeasured_calls === 0;
  return nothing ? '' : `${before}${usage(of)}`;
}

function amount(limit: string, value: number): string {
  if (limit === 'cost' || limit === 'evaluation_cost') return usd(value);
  return limit === 'time' ? `${whole(value)} ms` : whole(value);
}

function event(of: AgentEvent): string {
  switch (of.type) {
    case 'started':
      return 'started';
    case 'step':
      return `step ${text(of.name)}`.trimEnd();
    case 'usage':
      return `usage ${usage(of.usage)}`;
    case 'note':
      return `note ${text(of.text)}`;
    case 'lesson':
      return `lesson "${text(of.title)}"`;
    case 'cited':
      return `cited ${text(of.lesson)}`;
    case 'garbage':
      return `no event: ${text(of.text)}`;
    default:
      return of satisfies never;
  }
}

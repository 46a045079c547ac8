import { childUsage, type ChildState, reportedUsage } from '#lib/evaluation';
import { addUsage, type AgentEvent, type Entry, NO_SPEND, type Spend, type Usage } from '#lib/ledger';
import type { Context } from './context.js';

/**
 * Step 8b: what a run says it spent is the sum of what its entries say: the agent's last attempt or its model calls, tools, reviewers, extraction, and what attempts that were
 * cut short had reported.
 */
export function checkUsage(context: Context, chain: readonly Entry[], run: ChildState): void {
  const wrong = (entry: Entry, message: string): void => context.findings.error('usage_mismatch', entry, message);
  const events: AgentEvent[] = [];
  const openCalls = new Set<number>();
  let called: Usage | null = null;
  for (const entry of chain) {
    switch (entry.type) {
      case 'writer_changed':
        events.length = 0;
        openCalls.clear();
        break;
      case 'agent_reported':
        for (const event of entry.body.events) events.push(event);
        break;
      case 'model_call_started':
        if (entry.body.purpose !== 'agent') break;
        openCalls.add(entry.body.call);
        called ??= NO_SPEND;
        break;
      case 'model_call_completed':
        if (openCalls.delete(entry.body.call)) called = addUsage(called ?? NO_SPEND, entry.body.usage);
        break;
      case 'answer_submitted': {
        // A model reports nothing: what it spent is the sum of its calls.
        const spent = called ?? (entry.body.ended === 'constant' ? NO_SPEND : reportedUsage(events));
        if (!sameUsage(entry.body.usage, spent)) {
          wrong(entry, 'the usage of the agent is not the sum of what it reported or of its calls');
        }
        break;
      }
      case 'run_sealed':
        if (entry.body.entries !== chain.length) {
          context.findings.error(
            'ledger_truncated',
            entry,
            `the run is sealed with ${entry.body.entries} entries, and has ${chain.length}`,
          );
        }
        if (!sameSpend(entry.body.spend, run.spend))
          wrong(entry, 'the spend is not the sum of what the entries of the run say');
        if (!sameUsage(entry.body.usage, childUsage(run)))
          wrong(entry, 'the usage is not the sum of agent, tools, reviewers and extraction');
        if (!sameUsage(entry.body.interrupted, run.interrupted))
          wrong(entry, 'the interrupted usage is not that of the attempts that were cut short');
        break;
      default:
        break;
    }
  }
}

export function sameUsage(a: Usage, b: Usage): boolean {
  return (
    a.cost_nano_usd === b.cost_nano_usd &&
    a.steps === b.steps &&
    a.input_tokens === b.input_tokens &&
    a.output_tokens === b.output_tokens &&
    a.unmeasured_calls === b.unmeasured_calls &&
    (a.unpriced_calls ?? 0) === (b.unpriced_calls ?? 0)
  );
}

function sameSpend(a: Spend, b: Spend): boolean {
  return (
    sameUsage(a.agent, b.agent) &&
    sameUsage(a.tools, b.tools) &&
    sameUsage(a.reviewers, b.reviewers) &&
    sameUsage(a.extraction, b.extraction)
  );
}

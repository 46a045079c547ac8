import type { RunContext } from '#lib/child-run';
import type { Contract } from '#lib/contract';
import { type EvalRequested, type EvaluationView, planOf, type ChildRecord } from '#lib/evaluation';
import { canonicalJson, type ChildRunId, type EntryHash, sha256Hex, utf8 } from '#lib/ledger';

export const SOFTWARE = { truss: 'simulated', node: 'simulated' };
/** How many plans there are to draw from. */
export const SCENARIOS = 8;

type Shape = {
  readonly replicates: number;
  readonly repeats: number;
  readonly agent: 'fixed' | 'command';
  readonly criteria: readonly ('match' | 'review')[];
  readonly gates: NonNullable<Contract['learning']>['gates'];
  readonly cases: number;
  readonly maxRecalled: number;
};

const SHAPES: readonly Shape[] = [
  { replicates: 1, repeats: 1, agent: 'fixed', criteria: ['match'], gates: ['verdict'], cases: 0, maxRecalled: 2 },
  { replicates: 1, repeats: 2, agent: 'command', criteria: ['match'], gates: ['verdict'], cases: 0, maxRecalled: 2 },
  { replicates: 2, repeats: 2, agent: 'fixed', criteria: ['match'], gates: ['verdict'], cases: 2, maxRecalled: 1 },
  {
    replicates: 2,
    repeats: 1,
    agent: 'command',
    criteria: ['match', 'review'],
    gates: ['verdict'],
    cases: 0,
    maxRecalled: 2,
  },
  {
    replicates: 1,
    repeats: 2,
    agent: 'command',
    criteria: ['match'],
    gates: ['verdict', 'panel'],
    cases: 3,
    maxRecalled: 1,
  },
  {
    replicates: 1,
    repeats: 2,
    agent: 'command',
    criteria: ['match', 'match'],
    gates: ['verdict', 'checks', 'panel'],
    cases: 0,
    maxRecalled: 2,
  },
  { replicates: 2, repeats: 2, agent: 'command', criteria: ['match'], gates: ['verdict'], cases: 0, maxRecalled: 2 },
  {
    replicates: 1,
    repeats: 3,
    agent: 'command',
    criteria: ['review'],
    gates: ['verdict', 'panel'],
    cases: 0,
    maxRecalled: 1,
  },
];

function contractOf(shape: Shape): Contract {
  const noLimit = {
    max_cost_nano_usd: null,
    max_steps: null,
    max_input_tokens: null,
    max_output_tokens: null,
    timeout_ms: 1000,
  };
  return {
    id: 'simulated',
    title: 'Simulated',
    instructions: 'Answer.',
    workspace: { digest: null, files: 0, bytes: 0, protected: [] },
    agent:
      shape.agent === 'fixed'
        ? { kind: 'fixed', answer: 'a', file: 'answer.txt' }
        : { kind: 'command', command: ['agent'] },
    criteria: shape.criteria.map((kind, i) =>
      kind === 'match'
        ? { id: `c${i}`, kind, file: 'answer.txt', equals: 'a' }
        : { id: `c${i}`, kind, question: 'Is it right?' },
    ),
    panel: { quorum: 1, reviewers: ['r1', 'r2'].map((name) => ({ name, command: [name], instructions: null })) },
    budget: noLimit,
    providers: {},
    learning: {
      extractor: 'agent',
      provider: null,
      gates: [...shape.gates],
      scope: 'simulated',
      max_recalled: shape.maxRecalled,
      same_case: 'exclude',
    },
    cases: Array.from({ length: shape.cases }, (_, i) => ({ id: `case${i}`, family: null, inputs: {}, expected: {} })),
    evaluation: {
      max_cost_nano_usd: null,
      deadline_ms: 0,
      repeats: shape.repeats,
      replicates: shape.replicates,
      primary: 'pass_rate',
      alpha: 0.05,
      margin: 0.1,
      min_units: 2,
    },
    programs: [],
  };
}

const requests = new Map<string, EvalRequested>();

/** The request of a scenario: `deadlineMs` aside, the same each time. `content` 1 is another request under the same id. */
export function requestOf(scenario: number, deadlineMs: number, content = 0): EvalRequested {
  const name = `${scenario} ${deadlineMs} ${content}`;
  const known = requests.get(name);
  if (known !== undefined) return known;
  const shape = SHAPES[scenario % SHAPES.length] as Shape;
  const contract = contractOf(shape);
  const request: EvalRequested = {
    kind: 'eval',
    requester: 'simulation',
    request_id: `scenario ${scenario}`,
    contracts: [{ digest: sha256Hex(utf8(canonicalJson(contract))) as EntryHash, contract }],
    repeats: shape.repeats,
    replicates: shape.replicates,
    seed: 1000 + scenario + content,
    concurrency: 2,
    starting_lessons: [],
    max_cost_nano_usd: null,
    deadline_ms: deadlineMs,
    statistics: { method_version: 1, primary: 'pass_rate', alpha: 0.05, margin: 0.1, min_units: 2 },
    files: [],
  };
  requests.set(name, request);
  return request;
}

/** What a run is, from the live request and the plan, as the executor's shell makes it. */
export function contextOf(view: EvaluationView, child: ChildRunId): RunContext {
  const record = view.state.children.get(child) as ChildRecord;
  const plan = planOf(view.state);
  const entry = plan.contracts[record.contract] as (typeof plan.contracts)[number];
  const contract = entry.contract as Contract;
  const arm = plan.arms.find(({ name }) => name === record.arm);
  if (arm === undefined) throw new Error(`no arm ${record.arm}`);
  const { ref, body } = record.request;
  return {
    child,
    request: { ref, body },
    arm,
    contract,
    contractDigest: entry.digest,
    rendered: { instructions: contract.instructions, agent: contract.agent, criteria: contract.criteria },
    case: body.case === null ? null : { id: body.case, family: null, inputs: {} },
    otherCases: [],
    software: SOFTWARE,
  };
}

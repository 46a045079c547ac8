import { readSchema } from './match.js';
import {
  decimal,
  duration,
  identifier,
  integer,
  jsonTable,
  label,
  listOf,
  oneOf,
  text,
  blankText,
  url,
  usd,
  variableName,
} from './shapes.js';
import type { Shape, Table } from './table.js';
import type { Agent, Budget, Case, Criterion, Evaluation, Learning, Panel, Provider, Reviewer } from './types.js';

/** One reader per section of a contract file. They check each value by itself; `rules.ts` checks them together. */

const argv: Shape<string[]> = listOf(text, 'strings: a program and its arguments', 1);
const textOrJson: Shape<string> = {
  zero: '',
  read: (node, problems) => (node.kind === 'string' ? node.value : JSON.stringify(jsonTable.read(node, problems))),
};

export function readAgent(table: Table): Agent {
  const kind = table.need('kind', oneOf('command', 'fixed', 'llm'));
  switch (kind) {
    case 'command':
      return { kind, command: table.need('command', argv) };
    case 'fixed':
      return { kind, answer: table.need('answer_text', blankText), file: table.get('answer', text, 'answer.txt') };
    case 'llm':
      return {
        kind,
        provider: table.need('provider', text),
        tools: table.get('tools', listOf(oneOf('list_files', 'read_file', 'write_file', 'run_command'), 'tools'), []),
        answer_file: table.get('answer', text, 'answer.txt'),
      };
  }
}

export function readCriterion(table: Table): Criterion {
  const id = table.need('id', identifier);
  const kind = table.need('kind', oneOf('command', 'match', 'review'));
  switch (kind) {
    case 'command':
      return { id, kind, run: table.need('run', argv), timeout_ms: table.get('timeout', duration, 60_000) };
    case 'review':
      return { id, kind, question: table.need('question', text) };
    case 'match':
      return readMatch(table, id, table.need('file', text));
  }
}

function readMatch(table: Table, id: string, file: string): Criterion {
  const base = { id, kind: 'match' as const, file };
  const equals = table.get('equals', blankText, null);
  const regex = table.get('regex', text, null);
  const schema = table.get('json_schema', textOrJson, null);
  const given = [equals, regex, schema].filter((value) => value !== null);
  if (given.length !== 1) {
    const what = given.length === 0 ? 'nothing to match' : 'more than one thing to match';
    const code = given.length === 0 ? 'missing' : 'invalid';
    table.problems.add(code, table.node.at, what, 'give exactly one of `equals`, `regex` and `json_schema`');
  }
  if (schema !== null) return { ...base, json_schema: readSchema(schema, table) };
  return regex !== null ? { ...base, regex } : { ...base, equals: equals ?? '' };
}

const gateOrder = ['verdict', 'checks', 'panel'] as const;

export function readPanel(table: Table): Panel {
  const reviewers = table.tables('reviewers', true).map(readReviewer);
  if (!table.has('reviewers')) {
    table.problems.add(
      'missing',
      table.node.at,
      'no `reviewers` in [panel]',
      'add `reviewers = [{ name = "…", command = ["…"] }]`',
    );
  }
  return { quorum: table.need('quorum', integer(1)), reviewers };
}

function readReviewer(table: Table): Reviewer {
  const name = table.need('name', identifier);
  const command = table.get('command', argv, null);
  const provider = table.get('provider', text, null);
  const instructions = table.get('instructions', text, null);
  if ((command === null) === (provider === null)) {
    const advice = 'give the reviewer either `command` or `provider`';
    table.problems.add(
      'invalid',
      table.node.at,
      `reviewer \`${name}\` has ${command ? 'both a command and a provider' : 'nothing to run'}`,
      advice,
    );
  }
  table.close();
  return provider !== null ? { name, provider, instructions } : { name, command: command ?? [], instructions };
}

export function readBudget(table: Table): Budget {
  const budget = {
    max_cost_nano_usd: table.get('max_cost_usd', usd, null),
    max_steps: table.get('max_steps', integer(1), null),
    max_input_tokens: table.get('max_input_tokens', integer(1), null),
    max_output_tokens: table.get('max_output_tokens', integer(1), null),
    timeout_ms: table.get('timeout', duration, null),
  };
  if (Object.values(budget).every((limit) => limit === null)) {
    const advice =
      'set at least one of `max_cost_usd`, `max_steps`, `max_input_tokens`, `max_output_tokens`, `timeout`';
    table.problems.add('missing', table.node.at, 'no limit in [budget]', advice);
  }
  return budget;
}

export function readProvider(table: Table): Provider {
  const kind = table.need('kind', oneOf('openai', 'anthropic', 'openai-compatible', 'replay'));
  const [price] = table.tables('price', false).map((inner) => {
    const found = {
      input_nano_usd_per_mtok: inner.need('input_usd_per_mtok', usd),
      output_nano_usd_per_mtok: inner.need('output_usd_per_mtok', usd),
    };
    inner.close();
    return found;
  });
  const temperature = table.get(
    'temperature',
    decimal('a number from 0 to 2', (t) => t >= 0 && t <= 2),
    null,
  );
  const common = { kind, temperature, price: price ?? null };
  if (kind === 'replay') {
    const file = table.need('file', text, 'add `file = "recording.jsonl"`, the recorded calls');
    const recordFrom = table.get('record_from', text, null);
    const model = recordFrom === null ? table.need('model', text) : table.get('model', text, null);
    return { ...common, base_url: null, model, api_key_env: null, file, record_from: recordFrom };
  }
  return {
    ...common,
    base_url: kind === 'openai-compatible' ? table.need('base_url', url) : table.get('base_url', url, null),
    model: table.need('model', text),
    api_key_env: table.get('api_key_env', variableName, null),
    file: null,
    record_from: null,
  };
}

export function readLearning(table: Table, contractId: string): Learning {
  const extractor = table.get('extractor', oneOf('exemplar', 'agent', 'llm'), 'exemplar');
  const gates = table.get('gates', listOf(oneOf(...gateOrder), 'gates: "verdict", "checks", "panel"', 1), [
    ...gateOrder,
  ]);
  return {
    extractor,
    provider: extractor === 'llm' ? table.need('provider', text) : null,
    gates: gateOrder.filter((gate) => gates.includes(gate)),
    scope: table.get('scope', identifier, contractId),
    max_recalled: table.get('max_recalled', integer(0, 1000), 5),
    same_case: table.get('same_case', oneOf('exclude', 'allow'), 'exclude'),
  };
}

export function readCase(table: Table): Case {
  return {
    id: table.need('id', label),
    family: table.get('family', label, null),
    inputs: table.get('inputs', jsonTable, {}),
    expected: table.get('expected', jsonTable, {}),
  };
}

const maxUnits = 1_000_000;

export function readEvaluation(table: Table): Evaluation {
  const share = decimal('a number above 0 and below 1', (value) => value > 0 && value < 1);
  const positive = decimal('a number above 0', (value) => value > 0 && value <= Number.MAX_SAFE_INTEGER);
  return {
    max_cost_nano_usd: table.get('max_cost_usd', usd, null),
    deadline_ms: table.get('deadline', duration, 24 * 3_600_000),
    repeats: table.get('repeats', integer(1, maxUnits), null),
    replicates: table.get('replicates', integer(1, maxUnits), 1),
    primary: table.get('primary', oneOf('pass_rate', 'cost_usd', 'steps', 'total_tokens'), 'pass_rate'),
    alpha: table.get('alpha', share, 0.05),
    margin: table.get('margin', positive, 0.1),
    min_units: table.get('min_units', integer(1, maxUnits), 6),
  };
}

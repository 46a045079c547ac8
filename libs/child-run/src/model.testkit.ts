import { onTestFinished } from 'vitest';
import type { Contract, Provider } from '#lib/contract';
import { defaultPolicy, Gates, type LiveDeps, type RetryPolicy, systemClock } from '#lib/providers';
import {
  type Asked,
  type Reply,
  type Script,
  scriptedEndpoint,
  type ScriptedEndpoint,
  type Step,
} from '../../providers/src/scripted-endpoint.testkit.js';
import { type Given, kit, type Kit } from './child-run.testkit.js';

export const CANARY = 'sk-canary-4f1c9a7e2b8d6053';
const PRICE = { input_nano_usd_per_mtok: 1_000_000_000, output_nano_usd_per_mtok: 2_000_000_000 };

/** Of the usage that the endpoint reports unless it is told otherwise: 12 in, 3 out, by the price above. */
export const ONE_CALL = { cost_nano_usd: 18_000, input_tokens: 12, output_tokens: 3, unmeasured_calls: 0 };

export const reply = (text: string, more: Reply = {}): Step => ({ kind: 'reply', text, ...more });
export const asks = (name: string, args: unknown, more: Reply = {}): Step => ({
  kind: 'reply',
  tool_calls: [{ name, arguments: args }],
  ...more,
});

export const provider = (url: string, change: Partial<Provider> = {}): Provider => ({
  kind: 'openai-compatible',
  base_url: url,
  model: 'test-model',
  api_key_env: 'TEST_KEY',
  temperature: 0,
  file: null,
  record_from: null,
  price: PRICE,
  ...change,
});

export const deps = (policy: Partial<RetryPolicy> = {}): LiveDeps => ({
  env: { TEST_KEY: CANARY },
  gates: new Gates({ maxConcurrent: 8, requestsPerMinute: null }, systemClock),
  policy: { ...defaultPolicy, baseMs: 1, capMs: 1, ...policy },
});

export const agentOf = (...tools: string[]): Contract['agent'] => ({
  kind: 'llm',
  provider: 'main',
  tools,
  answer_file: 'answer.txt',
});

export const budgetOf = (change: Partial<Contract['budget']> = {}): Contract['budget'] => ({
  max_cost_nano_usd: null,
  max_steps: null,
  max_input_tokens: null,
  max_output_tokens: null,
  timeout_ms: 20_000,
  ...change,
});

export interface ModelKit extends Kit {
  readonly endpoint: ScriptedEndpoint;
}

export interface ModelGiven extends Given {
  readonly tools?: readonly string[];
  readonly provider?: Partial<Provider>;
  readonly policy?: Partial<RetryPolicy>;
  /** Absent: with the key. */
  readonly env?: LiveDeps['env'];
}

/** A run whose agent, reviewers and extractor are models behind one scripted endpoint. */
export async function modelKit(script: Script, given: ModelGiven = {}): Promise<ModelKit> {
  const endpoint = await scriptedEndpoint(script);
  onTestFinished(() => endpoint.close());
  const run = await kit({
    ...given,
    models: { ...deps(given.policy), ...(given.env === undefined ? {} : { env: given.env }) },
    contract: {
      agent: agentOf(...(given.tools ?? [])),
      providers: { main: provider(endpoint.url, given.provider) },
      ...given.contract,
    },
  });
  return { ...run, endpoint };
}

/** The messages of a request as `role: text`. */
export function messagesOf(asked: Asked | undefined): string[] {
  return (asked?.body.messages ?? []).map(({ role, content }) => `${role}: ${String(content)}`);
}

/** All that a run left: its entries and, as text, its attachments with the files in them decoded. */
export async function everythingLeft(run: Kit): Promise<string> {
  const text = JSON.stringify(run.drafts);
  const parts = [text];
  for (const [, sha256 = ''] of text.matchAll(/"sha256":"([0-9a-f]{64})"/g)) {
    const bytes = await run.ports.attachment(sha256);
    if (bytes !== null) parts.push(Buffer.from(bytes).toString('latin1'));
  }
  for (const [encoded] of parts.join('\n').matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g))
    parts.push(Buffer.from(encoded, 'base64').toString('latin1'));
  return parts.join('\n');
}

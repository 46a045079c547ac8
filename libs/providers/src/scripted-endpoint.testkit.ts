import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A model's answer, said in the protocol that was asked: chat completions, or Anthropic's messages. */
export type Reply = {
  text?: string | null;
  tool_calls?: { id?: string; name: string /** Sent as it is when it is text. */; arguments: unknown }[];
  /** By the names of chat completions; absent: 12 in, 3 out; `null`: none is reported. */
  usage?: Record<string, unknown> | null;
  finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  /** Absent: what was asked. */
  model?: string;
};

/** What the endpoint does with one request. */
export type Step =
  | ({ kind: 'reply' } & Reply)
  /** Any status, headers and bytes. */
  | { kind: 'raw'; status: number; headers?: Record<string, string>; body?: string }
  /** Reads the request and says nothing. */
  | { kind: 'hang' }
  /** Cuts the connection, before or after the first half of an answer. */
  | { kind: 'reset'; midway?: boolean }
  /** Sends a byte every so often, and never ends. */
  | { kind: 'trickle'; everyMs: number };

export type Asked = {
  path: string;
  headers: IncomingMessage['headers'];
  body: { model: string; messages: { role: string; content: unknown }[]; [key: string]: unknown };
  text: string;
};

export type Script = Step[] | ((asked: Asked, index: number) => Step | Promise<Step>);

export type ScriptedEndpoint = {
  /** `http://127.0.0.1:<port>/v1`: a `base_url`. */
  url: string;
  /** All requests so far. */
  asked: Asked[];
  /** Requests under way now, and the most that ever were. */
  load: { now: number; most: number };
  close(): Promise<void>;
};

/**
 * An endpoint on loopback that speaks the real protocols and does what a script says, request by request: a list of steps (when they are
 * used up, 500), or a function of the request. Close it in the end.
 */
export async function scriptedEndpoint(script: Script): Promise<ScriptedEndpoint> {
  const asked: Asked[] = [];
  const load = { now: 0, most: 0 };
  const server = createServer((request, response) => {
    load.now += 1;
    load.most = Math.max(load.most, load.now);
    response.once('close', () => (load.now -= 1));
    void readAsked(request).then(async (one) => {
      const index = asked.push(one) - 1;
      const step = typeof script === 'function' ? await script(one, index) : script[index];
      act(step ?? { kind: 'raw', status: 500, body: 'the script is over' }, one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    load,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A `base_url` where nobody listens. */
export async function refusingUrl(): Promise<string> {
  const endpoint = await scriptedEndpoint([]);
  await endpoint.close();
  return endpoint.url;
}

async function readAsked(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return { path: request.url ?? '', headers: request.headers, body: JSON.parse(text), text };
}

function act(step: Step, asked: Asked, response: ServerResponse): void {
  switch (step.kind) {
    case 'reply': {
      const body = asked.path.endsWith('/messages') ? messagesBody(step, asked) : chatBody(step, asked);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return;
    }
    case 'raw':
      response
        .writeHead(step.status, { 'content-type': 'application/json', ...step.headers })
        .end(step.body ?? `{"error":{"message":"status ${step.status}"}}`);
      return;
    case 'hang':
      return;
    case 'reset':
      if (step.midway) response.writeHead(200, { 'content-type': 'application/json' }).write('{"choices": [');
      setTimeout(() => response.socket?.resetAndDestroy(), step.midway ? 20 : 0);
      return;
    case 'trickle': {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), step.everyMs);
      response.once('close', () => clearInterval(timer));
    }
  }
}

function chatBody({ text = null, tool_calls: calls = [], usage, finish, model }: Reply, asked: Asked) {
  const toolCalls = calls.map(({ id, name, arguments: args }, index) => ({
    id: id ?? `call_${index + 1}`,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }));
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: model ?? asked.body.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, ...(calls.length > 0 ? { tool_calls: toolCalls } : {}) },
        finish_reason: finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
      },
    ],
    ...(usage === null ? {} : { usage: usage ?? { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 } }),
  };
}

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'refusal' };

function messagesBody({ text = null, tool_calls: calls = [], usage, finish, model }: Reply, asked: Asked) {
  const said = text === null ? [] : [{ type: 'text', text }];
  const used = calls.map(({ id, name, arguments: input }, index) => ({
    type: 'tool_use',
    id: id ?? `toolu_${index + 1}`,
    name,
    input,
  }));
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: model ?? asked.body.model,
    content: [...said, ...used],
    stop_reason: STOP_REASONS[finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')],
    stop_sequence: null,
    ...(usage === null ? {} : { usage: usage ?? { input_tokens: 12, output_tokens: 3 } }),
  };
}

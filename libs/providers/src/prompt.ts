import type { CallSettings } from './sdk.js';
import type { ModelMessage, ModelRequest, ToolCall } from './port.js';

/** A request as the SDK's models take it. The system's part and the messages stay apart, in the order given. */
export function callSettings(request: ModelRequest, abortSignal: AbortSignal): CallSettings {
  const { system, messages, tools, structured, temperature } = request;
  return {
    prompt: [...(system === '' ? [] : [{ role: 'system' as const, content: system }]), ...messages.map(toMessage)],
    maxOutputTokens: request.max_output_tokens,
    ...(temperature === null ? {} : { temperature }),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, json_schema: inputSchema }) => ({
            type: 'function' as const,
            name,
            description,
            inputSchema,
          })),
          toolChoice: { type: 'auto' as const },
        }),
    ...(structured === null
      ? {}
      : { responseFormat: { type: 'json' as const, name: structured.name, schema: structured.json_schema } }),
    abortSignal,
  };
}

function toMessage(message: ModelMessage): CallSettings['prompt'][number] {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.text }] };
    case 'assistant': {
      const said = message.text === '' && message.tool_calls.length > 0 ? [] : [text(message.text)];
      return { role: 'assistant', content: [...said, ...message.tool_calls.map(toCall)] };
    }
    case 'tool': {
      // Always as text: some adapters rewrite what is marked as an error, and the ledger has the exact prompt.
      const output = { type: 'text' as const, value: message.text };
      const { tool_call_id: toolCallId, name: toolName } = message;
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] };
    }
  }
}

function text(value: string) {
  return { type: 'text' as const, text: value };
}

function toCall(call: ToolCall) {
  // Providers refuse a transcript whose arguments are no object, so a malformed call is shown as one that holds the text.
  const input = 'malformed' in call ? { malformed: call.malformed } : call.arguments;
  return { type: 'tool-call' as const, toolCallId: call.id, toolName: call.name, input };
}

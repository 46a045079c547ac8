import type { OpenAIProvider } from '@ai-sdk/openai';
import type { Provider } from '#lib/contract';

/** A model of the AI SDK's provider interface: one call, no loop, no retries of its own. */
type LanguageModel = ReturnType<OpenAIProvider['chat']>;
export type CallSettings = Parameters<LanguageModel['doGenerate']>[0];
export type CallResult = Awaited<ReturnType<LanguageModel['doGenerate']>>;

export type LiveKind = Exclude<Provider['kind'], 'replay'>;

// Named here because the SDK would otherwise look into the environment for another address.
const OPENAI = 'https://api.openai.com/v1';
const ANTHROPIC = 'https://api.anthropic.com/v1';
/** The SDK wants a key, or looks for one; the transport puts the real one in its place. */
const apiKey = 'replaced-by-the-transport';

/** The SDK is imported when a model is first called: it takes long to load, and most commands call none. */
export async function languageModel(
  kind: LiveKind,
  baseUrl: string | null,
  model: string,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModel> {
  switch (kind) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ baseURL: baseUrl ?? OPENAI, apiKey, fetch }).chat(model);
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ baseURL: baseUrl ?? ANTHROPIC, apiKey, fetch }).chat(model);
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      // The contract refuses that already; a guess would send the key to somebody else.
      if (baseUrl === null) throw new TypeError('a compatible provider without `base_url`');
      return createOpenAICompatible({
        name: 'compatible',
        baseURL: baseUrl,
        fetch,
        supportsStructuredOutputs: true,
      }).chatModel(model);
    }
  }
}

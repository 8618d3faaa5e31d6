/** Vendors that run models for others, and where a model runs. All of it is pure. */
import { isLoopbackHost, parseWebAddress } from '../../src/config/address.ts';
import type { ModelConfig } from '../../src/config/config.ts';
import { isCloudTag } from '../../src/domain/cloud-tag.ts';
import { rangeOf } from '../../src/lib/address-range.ts';
import type { ModelDraft, Vendor } from './state.ts';

/** Each speaks the hosted API there. The names of the variables are the vendors' own. */
export const vendors: readonly Vendor[] = [
  vendor('OpenAI', 'https://api.openai.com/v1', 'OPENAI_API_KEY', 'gpt-5-mini'),
  vendor('Anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY'),
  vendor('Google', 'https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY'),
  vendor('Mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY'),
  vendor('Groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  vendor('OpenRouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
];

/** Another address that speaks the hosted API; it may want a key, or none. */
export const otherVendor: Vendor = vendor('another address', '', 'MODEL_API_KEY');

function vendor(name: string, baseUrl: string, keyEnv: string, modelId = ''): Vendor {
  return { name, baseUrl, keyEnv, modelId };
}

/** @returns null: the text is no http or https address without a query */
export function readBaseUrl(text: string): string | null {
  const trimmed = text.trim().replace(/\/+$/, '');
  const read = parseWebAddress(trimmed);
  if (read === null || read.hasCredentials || read.hasQuery || read.hasFragment) return null;
  return trimmed;
}

/** What of a model decides where it runs. */
type Where = Pick<ModelDraft, 'provider' | 'modelId' | 'baseUrl'>;

/**
 * Where a model runs, by all that is certain without asking: it is near only where its address
 * says so, and away where the tag of a local runtime's model does.
 */
export function localityOf({ provider, modelId, baseUrl }: Where): ModelConfig['locality'] {
  if (provider === 'local_runtime' && isCloudTag(modelId)) return 'cloud';
  if (baseUrl === null) return provider === 'local_runtime' ? 'local' : 'cloud';
  const host = parseWebAddress(baseUrl)?.host ?? null;
  return host !== null && isHere(host) ? 'local' : 'cloud';
}

/** This machine, an address of a private network, or a name that is known in one alone. */
function isHere(host: string): boolean {
  if (isLoopbackHost(host) || /^(?:private|shared)$/.test(rangeOf(host))) return true;
  return /^[^.:]+$|\.(?:local|lan|internal|home\.arpa)$/i.test(host);
}

/** The variable that the key for this address is usually in. */
export function keyEnvFor(baseUrl: string | null): string {
  if (baseUrl === null) return vendors[0]!.keyEnv;
  const host = parseWebAddress(baseUrl)?.host;
  const known = vendors.find((one) => parseWebAddress(one.baseUrl)?.host === host);
  return known?.keyEnv ?? otherVendor.keyEnv;
}

/** A model as the file will have it; one that is near, or has a free pass, names no key. */
export function hostedModel(baseUrl: string, modelId: string, keyEnv: string | null): ModelDraft {
  const isUsual = baseUrl === vendors[0]!.baseUrl;
  const where = { provider: 'hosted_runtime', modelId, baseUrl: isUsual ? null : baseUrl } as const;
  return { kind: 'model', ...where, locality: localityOf(where), apiKeyEnv: keyEnv };
}

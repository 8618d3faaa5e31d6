/**
 * Hosts of vendors that run models for others: what is sent there has left, whatever the locality
 * of a model is declared to be. Clouds where people run models of their own are none of them.
 */
const vendorHosts = [
  'api.anthropic.com',
  'api.cerebras.ai',
  'api.cohere.com',
  'api.deepinfra.com',
  'api.deepseek.com',
  'api.fireworks.ai',
  'api.groq.com',
  'api.mistral.ai',
  'api.openai.com',
  'api.perplexity.ai',
  'api.together.ai',
  'api.together.xyz',
  'api.x.ai',
  'generativelanguage.googleapis.com',
  'integrate.api.nvidia.com',
  'ollama.com',
  'openrouter.ai',
  'router.huggingface.co',
];

/** Whether a host is a known vendor's, or a subdomain of one. */
export function isVendorHost(host: string): boolean {
  // As browsers and servers read it: compatible letters are one, and so are both cases.
  const name = host.normalize('NFKC').toLowerCase().replace(/\.$/, '');
  return vendorHosts.some((vendor) => name === vendor || name.endsWith(`.${vendor}`));
}

/**
 * Whether the name of a local runtime's model says that its vendor runs it: a tag `cloud`, or one
 * that ends in `-cloud`. White space around the name and a digest after it change nothing.
 *
 * Source: cloud models of Ollama, docs/cloud.md of github.com/ollama/ollama.
 */
export function isCloudTag(modelId: string): boolean {
  const [name = ''] = modelId.split('@');
  return /:(?:.*-)?cloud$/is.test(name.trim());
}

/**
 * The name of a local runtime's model as the runtime looks it up: case, the default registry and
 * its library say nothing, and a name without a tag means its `latest`; the slash of a namespace
 * is no tag.
 */
export function plainModelName(name: string): string {
  const [bare = ''] = name.toLowerCase().split('@');
  const short = bare.trim().replace(/^(?:registry\.ollama\.ai\/)?(?:library\/)?/, '');
  return short.slice(short.lastIndexOf('/') + 1).includes(':') ? short : `${short}:latest`;
}

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

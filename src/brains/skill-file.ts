/** What a SKILL.md says: YAML between two lines of three dashes, and a body of Markdown. */

export type Skill = {
  /** These fields are one line each. */
  readonly name: string;
  readonly description: string;
  readonly body: string;
};

/** A fault is the part of a sentence that says why there is no skill. */
export type SkillRead =
  | { readonly skill: Skill; readonly warnings: readonly string[] }
  | { readonly fault: string };

const frontMatterCharactersMax = 16_384;
const nameCharactersMax = 64;
const descriptionRunesMax = 1_024;

/** @param folder its name, which a skill should bear */
export async function readSkill(folder: string, text: string): Promise<SkillRead> {
  const lines = text.replaceAll(/\r\n?/g, '\n').split('\n');
  if (lines[0]?.trimEnd() !== '---') return { fault: 'it does not begin with front matter (---)' };
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---');
  if (end < 0) return { fault: 'its front matter has no end (---)' };
  const read = await readFields(lines.slice(1, end).join('\n'));
  if ('fault' in read) return read;
  const { name: given, description: said } = read.fields;
  const description = typeof said === 'string' ? oneLine(said) : '';
  if (description === '') return { fault: 'its front matter has no description' };
  const name = typeof given === 'string' ? oneLine(given) : '';
  const warnings = nameWarnings(name, folder);
  const runes = Array.from(description);
  if (runes.length > descriptionRunesMax) {
    warnings.push(`its description is cut to ${descriptionRunesMax} code points`);
  }
  const skill = {
    name: (name === '' ? oneLine(folder) : name).slice(0, nameCharactersMax),
    description: runes.slice(0, descriptionRunesMax).join(''),
    body: printable(lines.slice(end + 1).join('\n')).trim(),
  };
  return { skill, warnings };
}

/** A name that breaks the format still names the skill. */
function nameWarnings(name: string, folder: string): string[] {
  if (name === '') return ['its front matter has no name; that of its folder is used'];
  const warnings: string[] = [];
  if (name.length > nameCharactersMax) {
    warnings.push(`its name is cut to ${nameCharactersMax} characters`);
  }
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    warnings.push('its name should be of lower-case letters, digits and single hyphens');
  }
  if (name !== folder) warnings.push('its name should be that of its folder');
  return warnings;
}

type Fields = Readonly<Record<string, unknown>>;

type Read = { readonly fields: Fields } | { readonly fault: string };

/**
 * The fields of front matter. Where it is no YAML, values that YAML cannot have without quotes are
 * read as the plain text that they are meant to be, as other readers of skills do: `description:
 * Use when: asked` (agentskills.io, "Adding skills support"; cursor/plugins#207, gstack#1778).
 */
async function readFields(source: string): Promise<Read> {
  if (source.length > frontMatterCharactersMax) {
    return { fault: `its front matter has more than ${frontMatterCharactersMax} characters` };
  }
  const strict = await readYaml(source);
  if ('fields' in strict) return strict;
  const quoted = withQuotes(source);
  if (quoted === source) return strict;
  const lenient = await readYaml(quoted);
  return 'fields' in lenient ? lenient : strict;
}

/** A key at the beginning of a line, and a value that is not quoted, a list or a block. */
const plainField = /^([A-Za-z][\w-]*):[ \t]+([^\s"'[{|>&*!#].*)$/;
/** What YAML takes for a mapping, or refuses at the beginning of a text. */
const needsQuotes = /:(?:\s|$)|^[@`%]|^[-?](?:\s|$)/;

/** Puts quotes round values that need them, with the indented lines that go on with them. */
function withQuotes(source: string): string {
  const out: string[] = [];
  const lines = source.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const [line, key, first] = plainField.exec(lines[at]!) ?? [lines[at]!];
    if (key === undefined || first === undefined) {
      out.push(line);
      continue;
    }
    let value = first.trim();
    let next = at + 1;
    for (; /^[ \t]+\S/.test(lines[next] ?? ''); next++) value += ` ${lines[next]!.trim()}`;
    if (!needsQuotes.test(value)) {
      out.push(line);
      continue;
    }
    out.push(`${key}: ${JSON.stringify(value)}`);
    at = next - 1;
  }
  return out.join('\n');
}

/** One YAML mapping of the core schema, each key once; no aliases, anchors or tags. */
async function readYaml(source: string): Promise<Read> {
  const { isAlias, isNode, parseDocument, visit } = await import('yaml');
  try {
    const document = parseDocument(source, {
      schema: 'core',
      version: '1.2',
      uniqueKeys: true,
      merge: false,
      prettyErrors: false,
    });
    const [error] = document.errors;
    if (error !== undefined)
      return { fault: `its front matter is no YAML: ${oneLine(error.message)}` };
    let fault: string | null = null;
    visit(document, (_key, node) => {
      if (isAlias(node)) fault = 'its front matter uses an alias';
      else if (isNode(node) && node.tag !== undefined) fault = 'its front matter uses a tag';
      return fault === null ? undefined : visit.BREAK;
    });
    if (fault !== null) return { fault };
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { fault: 'its front matter has no fields' };
    }
    return { fields: { ...value } };
  } catch {
    return { fault: 'its front matter cannot be read: it is nested too deeply, or broken' };
  }
}

/** Text that stands in one line. */
function oneLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ').trim();
}

/** Without control characters, tabs and ends of lines aside. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '');
}

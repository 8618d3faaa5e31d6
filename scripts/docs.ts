/** Writes the generated pages and parts of docs/ from the source. A test compares them. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonSchema } from '../src/config/json-schema.ts';
import { referencePage } from '../src/config/reference.ts';
import { withGeneratedParts } from './generated-parts.ts';

const reference = join(import.meta.dirname, '..', 'docs', 'reference');
writeFileSync(join(reference, 'configuration.md'), referencePage());
writeFileSync(join(reference, 'config.schema.json'), `${JSON.stringify(jsonSchema(), null, 2)}\n`);
for (const file of globSync(join(reference, '*.md'))) {
  writeFileSync(file, await withGeneratedParts(readFileSync(file, 'utf8')));
}

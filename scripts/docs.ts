/** Writes the generated parts of docs/ from the source. A test compares them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonSchema } from '../src/config/json-schema.ts';
import { referencePage } from '../src/config/reference.ts';
import { generatedPart, metricTables } from './docs-parts.ts';

const reference = join(import.meta.dirname, '..', 'docs', 'reference');
writeFileSync(join(reference, 'configuration.md'), referencePage());
writeFileSync(join(reference, 'config.schema.json'), `${JSON.stringify(jsonSchema(), null, 2)}\n`);
const metrics = join(reference, 'metrics.md');
const page = readFileSync(metrics, 'utf8');
writeFileSync(metrics, generatedPart(page, 'metrics', metricTables()));

/** `npm run site`: the documents as a site, in release/site. */
import { join } from 'node:path';
import { makeSite } from './site.ts';

const folder = join(import.meta.dirname, '../../../release/site');
await makeSite(folder);
console.log(`The site is in ${folder}.`);

/** Every command of the pages that need a PostgreSQL server runs as it stands there. */
import { testPages } from './run-page.ts';

testPages(null);

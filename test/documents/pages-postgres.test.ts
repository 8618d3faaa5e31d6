/** Every command of the pages that need a PostgreSQL server runs as the page shows it. */
import { testPages } from './run-page.ts';

testPages(null);

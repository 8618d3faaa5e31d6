/** Every command of the shelf “how to” runs as the page shows it. */
import { testPages } from './run-page.ts';

testPages('docs/how-to');

/** Every command of the shelf “get started” runs as the page shows it. */
import { testPages } from './run-page.ts';

testPages('docs/get-started');

/** Every command of the shelf “get started” runs as it stands there. */
import { testPages } from './run-page.ts';

testPages('docs/get-started');

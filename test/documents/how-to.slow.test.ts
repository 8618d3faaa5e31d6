/** Every command of the shelf “how to” runs as it stands there. */
import { testPages } from './run-page.ts';

testPages('docs/how-to');

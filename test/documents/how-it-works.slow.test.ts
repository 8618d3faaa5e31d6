/** Every command of the shelf “how it works” runs as it stands there. */
import { testPages } from './run-page.ts';

testPages('docs/how-it-works');

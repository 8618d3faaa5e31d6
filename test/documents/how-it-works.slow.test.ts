/** Every command of the shelf “how it works” runs as the page shows it. */
import { testPages } from './run-page.ts';

testPages('docs/how-it-works');

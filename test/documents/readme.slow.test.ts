/** Every command of the README and of the examples runs as the page shows it. */
import { testPages } from './run-page.ts';

testPages('README.md');
testPages('examples');

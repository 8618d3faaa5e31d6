/** Every command of the README and of the examples runs as it stands there. */
import { testPages } from './run-page.ts';

testPages('README.md');
testPages('examples');

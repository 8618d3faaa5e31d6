/** Every command of the README runs as it stands there. */
import { testPages } from './run-page.ts';

testPages('README.md');

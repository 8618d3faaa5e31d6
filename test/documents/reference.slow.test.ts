/** Every command of the reference runs as it stands there. */
import { testPages } from './run-page.ts';

testPages('docs/reference');

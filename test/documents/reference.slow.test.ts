/** Every command of the reference runs as the page shows it. */
import { testPages } from './run-page.ts';

testPages('docs/reference');

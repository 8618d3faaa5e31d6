/** Every command of the shelf “recipes” runs as the page shows it. */
import { testPages } from './run-page.ts';

testPages('docs/recipes');

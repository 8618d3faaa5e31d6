/** Builds the pages, unless they are what their sources make already. */
import { arePagesFresh } from './pages-stamp.ts';

if (arePagesFresh()) console.log('The pages are fresh: nothing is built.');
else await import('./pages.ts');

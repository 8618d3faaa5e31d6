/** Builds the pages, unless they match their sources. */
import { arePagesFresh } from './pages-stamp.ts';

if (arePagesFresh()) console.log('The pages are fresh: nothing is built.');
else await import('./pages.ts');

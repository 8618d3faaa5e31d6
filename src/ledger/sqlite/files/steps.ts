/**
 * The schema's migrations, in SQL. The build replaces this module with their texts, because a
 * thread of the single-file program finds no folder.
 */
import { readSqlSteps } from '../../../lib/sql-steps.ts';

export const steps = readSqlSteps(new URL('./migrations/', import.meta.url));

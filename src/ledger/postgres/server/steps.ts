/** The migration steps as SQL. The build puts their texts in the place of this module. */
import { readSqlSteps } from '../../../lib/sql-steps.ts';

export const steps = readSqlSteps(new URL('./steps/', import.meta.url));

/**
 * The steps of the schema, in SQL. The build puts their texts in the place of this module: a thread
 * of the program of one file finds no folder.
 */
import { readSqlSteps } from '../../../lib/sql-steps.ts';

export const steps = readSqlSteps(new URL('./migrations/', import.meta.url));

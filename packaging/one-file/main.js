/*
 * The first module of the program of one file, beside dist/ and what it needs. Node has no debugger
 * that a signal opens there, and reads no options from the environment: the file was made so.
 */
import { main } from './dist/main.js';

await main(process.argv.slice(2));

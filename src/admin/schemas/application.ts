/** Schemas of the application's routes: `ApplicationView` and sign-in. */
import { boolean, maybeText, object, text } from './schema.ts';

export const applicationSchema = object({ shell: boolean, page: maybeText });
export const codeSchema = object({ code: text });
/** `token` null: the service is read-only. `page` is the application's own; null: there is none. */
export const signedInSchema = object({ token: maybeText, page: maybeText });
export const nothingSchema = object({});

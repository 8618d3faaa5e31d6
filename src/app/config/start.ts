/** Checks the shared configuration for a start on this machine. */
import { problemWithoutPlace, type ConfigProblem } from '../../config/problems.ts';
import type { Inspection } from '../../config/inspect.ts';
import type { SharedConfig } from '../../cluster/backend.ts';
import { isOfProgram } from '../../config/refusals.ts';
import { OwnFile, withStorageOf, type OwnPlace } from './own-file.ts';

/**
 * Checks the shared configuration as this machine would run it. Fields that need a person at the
 * machine come from its own file.
 * @param own the file of this machine, without problems
 */
export async function inspectShared(
  current: SharedConfig,
  own: Inspection,
  place: OwnPlace,
): Promise<Inspection> {
  const { validation: ofFile, storage } = own;
  if (ofFile.kind === 'invalid') return own;
  const file = new OwnFile(place);
  const written = await file.inspect(current.text);
  const inspection = withStorageOf({ config: ofFile.config, storage }, written);
  const { validation, folder } = inspection;
  if (validation.kind === 'invalid') return inspection;
  const elsewhere = await file.fieldsUnknown(validation.config, folder);
  const unknown = elsewhere.map((path) => unknownHere(path, place.file));
  if (unknown.length > 0)
    return { ...inspection, validation: { kind: 'invalid', problems: unknown } };
  const problems = [configElsewhere(current, place.file), ...validation.problems];
  return { ...inspection, validation: { ...validation, problems } };
}

function unknownHere(path: string, file: string): ConfigProblem {
  const remedy = `Write it into ${file} as well, and start svc again.`;
  const isProgram = isOfProgram(path);
  const what = isProgram
    ? `has a program to start that ${file} does not have, and such a program`
    : `names a folder outside of that of ${file}, and such a folder`;
  const inUse = 'the configuration in use, which lies in the database,';
  const message = `${inUse} ${what} comes by hand only`;
  return problemWithoutPlace(isProgram ? 'mcp_command' : 'folder_elsewhere', path, message, remedy);
}

/** Warns that the file is not the configuration in use. */
export function configElsewhere({ revision, at }: SharedConfig, file: string): ConfigProblem {
  const message =
    `the configuration in use is revision ${revision} of the database, since ` +
    `${new Date(at).toISOString()}, and ${file} is another one`;
  const remedy =
    'To make the file the one in use, send svc a SIGHUP or PUT it to /api/v1/config; where that ' +
    'needs a restart, stop every svc on the database and run svc config use.';
  return problemWithoutPlace('config_elsewhere', '', message, remedy);
}

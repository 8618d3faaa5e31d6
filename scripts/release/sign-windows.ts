/**
 * The signature of a program for Windows, without which SmartScreen asks before its first start.
 * It is made with the certificate that `SVC_WINDOWS_CERTIFICATE` names, a PKCS #12 file, whose
 * password stands in the file that `SVC_WINDOWS_PASSWORD_FILE` names. Without it nothing is signed.
 */
import { renameSync } from 'node:fs';
import { run } from './run.ts';

/** @param file is signed in its place @param epochS the time that the signature says */
export async function signForWindows(file: string, epochS: number): Promise<void> {
  const { SVC_WINDOWS_CERTIFICATE: certificate, SVC_WINDOWS_PASSWORD_FILE: password } = process.env;
  if (certificate === undefined) return;
  const signed = `${file}.signed`;
  await run('osslsigncode', [
    ...['sign', '-pkcs12', certificate, '-h', 'sha256', '-n', 'svc', '-st', String(epochS)],
    ...(password === undefined ? [] : ['-readpass', password]),
    ...['-in', file, '-out', signed],
  ]);
  renameSync(signed, file);
}

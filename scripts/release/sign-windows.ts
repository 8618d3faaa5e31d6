/**
 * Signs a program for Windows; without a signature SmartScreen asks before the first start.
 * `SVC_WINDOWS_CERTIFICATE` names the certificate, a PKCS #12 file, and `SVC_WINDOWS_PASSWORD_FILE`
 * a file with its password. Signs nothing without a certificate.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { run } from './run.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** @param file is replaced by the signed one @param epochS the time in the signature */
export async function signForWindows(
  file: string,
  epochS: number,
  env: Env = process.env,
): Promise<void> {
  const { SVC_WINDOWS_CERTIFICATE: certificate, SVC_WINDOWS_PASSWORD_FILE: password } = env;
  if (certificate === undefined) return;
  const signed = `${file}.signed`;
  const how = ['sign', '-pkcs12', certificate, '-h', 'sha256', '-n', 'svc', '-st', String(epochS)];
  const opened = password === undefined ? [] : ['-readpass', password];
  await run('osslsigncode', [...how, ...opened, '-in', file, '-out', signed]);
  renameSync(signed, file);
}

/**
 * Removes the original signature of a program, which any insertion would make invalid. Format:
 * https://learn.microsoft.com/windows/win32/debug/pe-format
 */
export function unsign(file: string): void {
  const bytes = readFileSync(file);
  const optional = bytes.readUInt32LE(0x3c) + 24;
  if (bytes.readUInt16LE(optional) !== 0x20b) throw new Error(`${file} is no PE32+`);
  const checksum = optional + 64;
  const table = optional + 144;
  const from = bytes.readUInt32LE(table);
  const size = bytes.readUInt32LE(table + 4);
  if (size === 0) return;
  if (from + size !== bytes.length) throw new Error(`${file} has more behind its signature`);
  bytes.writeUInt32LE(0, checksum);
  bytes.writeBigUInt64LE(0n, table);
  writeFileSync(file, bytes.subarray(0, from));
}

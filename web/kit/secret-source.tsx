/** Words for the places where the service finds a secret. */
import type { SecretPresence, SecretStore } from '../../src/admin/secret-control.ts';
import { State } from './state.tsx';

type Source = SecretPresence['source'];

const words: Readonly<Record<Exclude<Source, 'missing'>, string>> = {
  environment: 'environment',
  file: 'file',
  credential: 'systemd credential',
  keychain: 'keychain',
};

/** Where the service finds the value of a variable. */
export function SourceBadge({ source }: { readonly source: Source }) {
  if (source === 'missing') return <State tone="bad">not set where svc runs</State>;
  return <State tone="good">set: {words[source]}</State>;
}

/** The names of the keychains of each system. */
export const storeNames: Readonly<Record<SecretStore['kind'], string>> = {
  secret_service: 'Secret Service',
  keychain: 'macOS Keychain',
  credential_manager: 'Windows Credential Manager',
  none: 'none for this system',
};

/** Ways to set a value without the keychain. */
export function OtherWays({ name }: { readonly name: string }) {
  return (
    <div className="flex flex-col gap-1">
      <p>Any of these gives svc a value without a keychain, when it starts again:</p>
      <ul className="list-disc ps-5 wrap-anywhere">
        <li>
          a variable of the shell that starts it: <code>export {name}=…</code>
        </li>
        <li>
          a file that holds the value, as Docker and Kubernetes give one:{' '}
          <code>{name}_FILE=/path/of/the/file</code>
        </li>
        <li>
          a credential, in a unit of systemd: <code>LoadCredential={name}:/path/of/the/file</code>
        </li>
      </ul>
    </div>
  );
}

/**
 * The result of one check of a preflight. `secret`: it failed because a secret is missing.
 * `refuses`: the configuration cannot come into use while this check fails.
 */
export type PreflightLine = {
  readonly mark: 'ok' | 'warning' | 'failed';
  readonly subject: string;
  readonly message: string;
  readonly remedy: string | null;
  readonly secret: boolean;
  readonly refuses: boolean;
};

export function ok(subject: string, message: string): PreflightLine {
  return { mark: 'ok', subject, message, remedy: null, secret: false, refuses: false };
}

export function warning(subject: string, message: string, remedy: string): PreflightLine {
  return { mark: 'warning', subject, message, remedy, secret: false, refuses: false };
}

export function failed(subject: string, message: string, remedy: string): PreflightLine {
  return { mark: 'failed', subject, message, remedy, secret: false, refuses: false };
}

/** A failed check that refuses the configuration. */
export function refusing(subject: string, message: string, remedy: string): PreflightLine {
  return { ...failed(subject, message, remedy), refuses: true };
}

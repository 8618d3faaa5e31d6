/**
 * One thing that a preflight looked at. `secret`: it failed for want of a secret. `refuses`: nobody
 * can take the configuration into use as long as this fails.
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

/** It failed, and the configuration cannot be taken into use as long as it does. */
export function refusing(subject: string, message: string, remedy: string): PreflightLine {
  return { ...failed(subject, message, remedy), refuses: true };
}

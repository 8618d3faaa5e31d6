/** One thing that a preflight looked at. `secret`: it failed for want of a secret. */
export type PreflightLine = {
  readonly mark: 'ok' | 'warning' | 'failed';
  readonly subject: string;
  readonly message: string;
  readonly remedy: string | null;
  readonly secret: boolean;
};

export function ok(subject: string, message: string): PreflightLine {
  return { mark: 'ok', subject, message, remedy: null, secret: false };
}

export function warning(subject: string, message: string, remedy: string): PreflightLine {
  return { mark: 'warning', subject, message, remedy, secret: false };
}

export function failed(subject: string, message: string, remedy: string): PreflightLine {
  return { mark: 'failed', subject, message, remedy, secret: false };
}

/** `message` is a sentence for a person. `busy`: so many reads wait that this one may not. */
export class ReadFailed extends Error {
  override readonly name = 'ReadFailed';
  readonly reason: 'busy' | 'too_slow' | 'storage' | 'closed';

  constructor(reason: ReadFailed['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What the site uses of it; the package has no types of its own. */
declare module '@11ty/eleventy' {
  export type Compiled = () => string;
  export type Config = {
    /** A page that is no file. */
    addTemplate(path: string, content: string, data: Readonly<Record<string, unknown>>): void;
    addExtension(
      name: string,
      how: {
        readonly outputFileExtension: string;
        readonly compile: (content: string) => Promise<Compiled> | Compiled;
      },
    ): void;
    setTemplateFormats(formats: readonly string[]): void;
    setIncludesDirectory(folder: string): void;
    setUseGitIgnore(isUsed: boolean): void;
  };
  export type Page = { readonly url: string; readonly content: string };
  export class Eleventy {
    constructor(
      input: string,
      output: string,
      options: {
        readonly quietMode: boolean;
        readonly configPath: string | null;
        readonly config: (config: Config) => void;
      },
    );
    toJSON(): Promise<readonly Page[]>;
  }
}

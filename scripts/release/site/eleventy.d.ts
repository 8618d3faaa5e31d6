/** The types of Eleventy that the site uses; the package has none. */
declare module '@11ty/eleventy' {
  export type Compiled = () => string;
  export type Config = {
    /** Adds a page without a file. */
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

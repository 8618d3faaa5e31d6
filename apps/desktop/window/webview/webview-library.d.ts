/**
 * The parts of the webview's library that svc uses, as of its version 0.4.7. npm does not install
 * the library on a Node older than 24, and the sources are type-checked there too.
 */
declare module '@webviewjs/webview' {
  type Heard<Names extends Readonly<Record<string, unknown>>> = {
    on<Name extends keyof Names>(name: Name, listener: (event: Names[Name]) => void): unknown;
  };

  export type MenuOptions = {
    readonly items: readonly {
      readonly id: string;
      readonly label: string;
      readonly enabled?: boolean;
    }[];
  };

  export type TrayIcon = Heard<{ readonly click: { readonly button?: string } }> & {
    setMenu(menu: MenuOptions): void;
  };

  /** Pixels of four bytes each: red, green, blue, alpha. */
  type Icon = { readonly data: Uint8Array; readonly width: number; readonly height: number };

  export type WebContext = { readonly dataDirectory: string | null };

  export type Webview = Heard<{
    readonly 'page-load-finished': { readonly url?: string };
    readonly 'title-changed': { readonly title?: string };
  }> & {
    loadUrl(url: string): void;
    loadHtml(html: string): void;
    reload(): void;
    url(): string | null;
    evaluateScript(script: string): void;
    evaluateScriptWithCallback(
      script: string,
      callback: (error: Error | null, result: string) => void,
    ): void;
    onIpcMessage(handler: (message: { readonly body: Buffer; readonly uri: string }) => void): void;
    isDisposed(): boolean;
    dispose(): void;
  };

  export type WebviewOptions = {
    readonly webContext: WebContext;
    /** A script that runs in each page before the page's own scripts. */
    readonly preload: string;
    readonly hotkeysZoom: boolean;
    readonly clipboard: boolean;
    /** @returns false: the navigation is refused */
    readonly navigationHandler: (url: string) => boolean;
    readonly newWindowHandler: (event: { readonly url?: string }) => boolean;
  };

  export type BrowserWindow = Heard<{ readonly close: { preventDefault(): void } }> & {
    createWebview(options: WebviewOptions): Webview;
    setWindowIcon(data: Uint8Array, width: number, height: number): void;
    setTitle(title: string): void;
    show(): void;
    hide(): void;
    focus(): void;
    isMinimized(): boolean;
    setMinimized(value: boolean): void;
  };

  export class Application implements Heard<{
    readonly 'custom-menu-click': { readonly customMenuEvent?: { readonly id: string } };
  }> {
    on(
      name: 'custom-menu-click',
      listener: (event: { readonly customMenuEvent?: { readonly id: string } }) => void,
    ): unknown;
    whenReady(): Promise<void>;
    /** Sizes are in logical pixels. */
    createBrowserWindow(options: {
      readonly title: string;
      readonly width: number;
      readonly height: number;
      readonly visible: boolean;
    }): BrowserWindow;
    createWebContext(options: { readonly dataDirectory: string }): WebContext;
    createTrayIcon(options: {
      readonly id: string;
      readonly icon: Icon;
      readonly tooltip: string;
      readonly menu: MenuOptions;
      readonly menuOnLeftClick: boolean;
    }): TrayIcon;
    exit(): void;
  }

  export function getWebviewVersion(): string;
}

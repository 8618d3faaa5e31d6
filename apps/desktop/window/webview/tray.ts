/** The tray of a webview: open, how it stands, quit. */
import type { Application, MenuOptions } from '@webviewjs/webview';
import { drawIcon } from './icon.ts';

export type Tray = { status(text: string): void };

/** @param chose is called each time that the person chooses */
export function createTray(app: Application, chose: (what: 'open' | 'quit') => void): Tray {
  const tray = app.createTrayIcon({
    id: 'svc',
    icon: drawIcon(),
    tooltip: 'svc',
    menu: menuWith(''),
    menuOnLeftClick: process.platform !== 'win32',
  });
  tray.on('click', ({ button }) => {
    if (process.platform === 'win32' && button === 'Left') chose('open');
  });
  app.on('custom-menu-click', ({ customMenuEvent }) => {
    const id = customMenuEvent?.id;
    if (id === 'open' || id === 'quit') chose(id);
  });
  let shown = '';
  return {
    status: (text) => {
      if (text === shown) return;
      shown = text;
      tray.setMenu(menuWith(text));
    },
  };
}

function menuWith(status: string): MenuOptions {
  const told = status === '' ? [] : [{ id: 'status', label: status, enabled: false }];
  return {
    items: [{ id: 'open', label: 'Open svc' }, ...told, { id: 'quit', label: 'Quit svc' }],
  };
}

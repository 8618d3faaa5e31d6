import { useEffect, useRef } from 'react';
import { useDraft } from '../document/store.ts';
import { openEditor, type Editor } from './editor.ts';
import { useShowing } from './showing.ts';

/**
 * The editor in a shadow root. Its styles are sheets of that root, which the content security
 * policy allows.
 */
export function EditorBox() {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const problems = useDraft((state) => state.problems);
  const text = useDraft((state) => state.text);
  const place = useShowing((state) => state.place);
  useEffect(() => {
    const host = box.current!;
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    editor.current = openEditor(root, useDraft.getState().text);
    return () => editor.current?.close();
  }, []);
  useEffect(() => {
    editor.current?.show(text);
    // Problems arrive shortly after the text that they are about.
    editor.current?.mark(problems);
  }, [text, problems]);
  useEffect(() => {
    if (place === null) return;
    editor.current?.goTo(place);
    useShowing.setState({ place: null });
  }, [place]);
  return <div ref={box} className="min-h-96 flex-1 lg:min-h-0" />;
}

/** Grey bars in the place of content that is being read. */
export function Asking() {
  return (
    <div className="flex max-w-xl flex-col gap-2 py-1">
      <p className="sr-only">Asking …</p>
      {['w-full', 'w-5/6', 'w-2/3'].map((width) => (
        <div key={width} aria-hidden="true" className={`h-3 rounded-sm bg-raised ${width}`} />
      ))}
    </div>
  );
}

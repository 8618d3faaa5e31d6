/**
 * Runs in a page: finds controls smaller than 24 by 24 CSS pixels. It leaves out links in a
 * sentence, controls that fill their box, and invisible ones.
 */
export const smallTargets = `(() => {
  const pressed = 'a[href], button, input, select, textarea, summary, [role=tab], [role=option]';
  const least = 24;
  const isSmall = (one) => {
    const { width, height } = one.getBoundingClientRect();
    // Half a pixel is lost where a page is zoomed.
    return width > 1 && height > 1 && (width < least - 0.5 || height < least - 0.5);
  };
  const isInSentence = (one) => {
    const text = one.closest('p, li, dd');
    return text !== null && text.textContent.trim() !== one.textContent.trim();
  };
  const fillsBox = (one) => getComputedStyle(one, '::after').position === 'absolute';
  return [...document.querySelectorAll(pressed)]
    .filter((one) => isSmall(one) && !isInSentence(one) && !fillsBox(one))
    .map((one) => {
      const { width, height } = one.getBoundingClientRect();
      const name = one.getAttribute('aria-label') ?? one.textContent;
      return one.localName + ' ' + name + ': ' + width + ' by ' + height;
    });
})()`;

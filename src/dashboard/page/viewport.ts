import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** What of the map is on the screen. */
export interface View {
  readonly width: number;
  readonly height: number;
  readonly top: number;
}

/** The visible part of an element that scrolls, and the reference to it. */
export function useViewport(): readonly [View, { current: HTMLDivElement | null }] {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ width: 960, height: 800, top: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    let isPending = false;
    const read = (): void => {
      isPending = false;
      const next = { width: element.clientWidth, height: element.clientHeight, top: element.scrollTop };
      setView((old) =>
        old.width === next.width && old.height === next.height && Math.abs(old.top - next.top) < 50 ? old : next,
      );
    };
    const soon = (): void => {
      if (!isPending) requestAnimationFrame(read);
      isPending = true;
    };
    read();
    const observer = new ResizeObserver(soon);
    observer.observe(element);
    element.addEventListener('scroll', soon, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', soon);
    };
  }, []);
  return [view, scroller];
}
